package org.memferry.device.cuda;

import net.jqwik.api.lifecycle.LifecycleContext;
import net.jqwik.api.lifecycle.SkipExecutionHook;

/** Skips a container of properties, which know no assumptions of their own, where there is no {@link FakeCuda}. */
public final class NeedsFakeCuda implements SkipExecutionHook {

    @Override
    public SkipResult shouldBeSkipped(LifecycleContext context) {
        // Where everything is required they run, and fail for want of it.
        return FakeCuda.isThere() || Boolean.getBoolean("memferry.requireAll") ? SkipResult.doNotSkip() : SkipResult.skip(FakeCuda.missing());
    }
}

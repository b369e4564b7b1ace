package org.memferry.device.cuda;


import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.memferry.device.CopyingDeviceContractTest;
import org.memferry.device.Device;

/** The contract of all devices, on the runtime for tests, where the host computes. Nothing here is a measurement of a card. */
class CudaDeviceTest extends CopyingDeviceContractTest {

    @BeforeAll
    static void startRuntime() {
        FakeCuda.start();
    }

    @Override
    protected Device open() {
        return CudaDevice.builder(0).memory(BUDGET).build();
    }

    @Override
    protected Device openHeld() {
        FakeCuda.hold(true, false);
        return open();
    }

    @Override
    protected void letCopiesRun() {
        FakeCuda.hold(false, false);
    }

    @AfterEach
    void nothingIsWrongOrHeld() {
        letCopiesRun();
        device.close();
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }
}

/* What MemFerry's host memory asks of the system. Needs libc only. */
#include <jni.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

JNIEXPORT jint JNICALL Java_org_memferry_device_HugePages_advise(JNIEnv *env, jclass type, jlong address, jlong bytes) {
    (void) env;
    (void) type;
    return madvise((void *) (intptr_t) address, (size_t) bytes, MADV_HUGEPAGE) == 0 ? 0 : errno;
}

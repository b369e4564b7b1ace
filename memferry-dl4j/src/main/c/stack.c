/* Who is computing: the object that a method further up the call stack was called on. Java knows the method, only the VM knows the object. */
#include <jni.h>
#include <jvmti.h>
#include <stddef.h>

enum { THREAD_TAG = 1, FOUND_TAG = 2 };

static jint JNICALL look(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo *info, jlong class_tag, jlong referrer_class_tag, jlong size,
        jlong *tag, jlong *referrer_tag, jint length, void *method) {
    (void) class_tag;
    (void) referrer_class_tag;
    (void) size;
    (void) referrer_tag;
    (void) length;
    if (kind == JVMTI_HEAP_REFERENCE_STACK_LOCAL && info->stack_local.thread_tag == THREAD_TAG && info->stack_local.slot == 0
            && info->stack_local.method == *(jmethodID *) method) {
        *tag = FOUND_TAG;
        return JVMTI_VISIT_ABORT;
    }
    /* Roots only: what they refer to is not followed. */
    return 0;
}

/* The receiver of the innermost call of an instance method by this thread; null if there is none or the VM does not say. */
JNIEXPORT jobject JNICALL Java_org_memferry_network_CallStack_receiver(JNIEnv *env, jclass type, jobject thread, jclass owner, jstring name) {
    (void) type;
    JavaVM *vm;
    jvmtiEnv *tools;
    if ((*env)->GetJavaVM(env, &vm) != JNI_OK || (*vm)->GetEnv(vm, (void **) &tools, JVMTI_VERSION_1_2) != JNI_OK) {
        return NULL;
    }
    jobject found = NULL;
    const char *text = (*env)->GetStringUTFChars(env, name, NULL);
    jmethodID method = text == NULL ? NULL : (*env)->GetMethodID(env, owner, text, "()V");
    if (text != NULL) {
        (*env)->ReleaseStringUTFChars(env, name, text);
    }
    jvmtiCapabilities tags = {.can_tag_objects = 1};
    if (method != NULL && (*tools)->AddCapabilities(tools, &tags) == JVMTI_ERROR_NONE
            && (*tools)->SetTag(tools, thread, THREAD_TAG) == JVMTI_ERROR_NONE) {
        jvmtiHeapCallbacks callbacks = {.heap_reference_callback = look};
        const jlong wanted = FOUND_TAG;
        jint count = 0;
        jobject *objects = NULL;
        if ((*tools)->FollowReferences(tools, 0, NULL, NULL, &callbacks, &method) == JVMTI_ERROR_NONE
                && (*tools)->GetObjectsWithTags(tools, 1, &wanted, &count, &objects, NULL) == JVMTI_ERROR_NONE && count > 0) {
            found = objects[0];
        }
        if (objects != NULL) {
            (*tools)->Deallocate(tools, (unsigned char *) objects);
        }
    }
    /* Takes the tags away with it. */
    (*tools)->DisposeEnvironment(tools);
    return found;
}

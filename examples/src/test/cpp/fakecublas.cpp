// The functions of cuBLAS that gpu-check calls, without a GPU: plain arithmetic as work of the stream, on the CUDA runtime for tests, whose device
// memory the host can read. Matrices are as cuBLAS has them, by columns.
#include <functional>
#include <vector>

extern "C" int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* argument);

namespace {

struct Handle {
    void* stream;
};

void perform(void* argument) {
    auto* work = static_cast<std::function<void()>*>(argument);
    (*work)();
    delete work;
}

int submit(void* handle, std::function<void()> work) {
    return cudaLaunchHostFunc(static_cast<Handle*>(handle)->stream, perform, new std::function<void()>(std::move(work))) == 0 ? 0 : 13;
}

bool wrong(int transposed, int rows, int columns, int leading) {
    return transposed < 0 || transposed > 1 || rows < 1 || columns < 1 || leading < (transposed ? columns : rows);
}

float at(const float* matrix, int transposed, int leading, long row, long column) {
    return transposed ? matrix[column + row * leading] : matrix[row + column * leading];
}

void multiply(int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
    for (long j = 0; j < n; j++) {
        for (long i = 0; i < m; i++) {
            float sum = 0;
            for (long l = 0; l < k; l++) {
                sum += at(a, ta, lda, i, l) * at(b, tb, ldb, l, j);
            }
            c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);
        }
    }
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
    *handle = new Handle{nullptr};
    return 0;
}

int cublasDestroy_v2(void* handle) {
    delete static_cast<Handle*>(handle);
    return 0;
}

int cublasSetStream_v2(void* handle, void* stream) {
    static_cast<Handle*>(handle)->stream = stream;
    return 0;
}

int cublasSgemm_v2(void* handle, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
        const float* beta, float* c, int ldc) {
    if (wrong(ta, m, k, lda) || wrong(tb, k, n, ldb) || wrong(0, m, n, ldc)) {
        return 7;
    }
    float factor = *alpha;
    float kept = *beta;
    return submit(handle, [=] { multiply(ta, tb, m, n, k, factor, a, lda, b, ldb, kept, c, ldc); });
}

int cublasSgemv_v2(void* handle, int ta, int m, int n, const float* alpha, const float* a, int lda, const float* x, int incx, const float* beta, float* y,
        int incy) {
    if (wrong(0, m, n, lda) || incx != 1 || incy != 1) {
        return 7;
    }
    float factor = *alpha;
    float kept = *beta;
    return submit(handle, [=] { multiply(ta, 0, ta ? n : m, 1, ta ? m : n, factor, a, lda, x, ta ? m : n, kept, y, ta ? n : m); });
}

int cublasSgemmBatched(void* handle, int ta, int tb, int m, int n, int k, const float* alpha, const float* const a[], int lda, const float* const b[], int ldb,
        const float* beta, float* const c[], int ldc, int count) {
    if (wrong(ta, m, k, lda) || wrong(tb, k, n, ldb) || wrong(0, m, n, ldc)) {
        return 7;
    }
    float factor = *alpha;
    float kept = *beta;
    return submit(handle, [=] {
        for (int i = 0; i < count; i++) {
            multiply(ta, tb, m, n, k, factor, a[i], lda, b[i], ldb, kept, c[i], ldc);
        }
    });
}

}  // extern "C"

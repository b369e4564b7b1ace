package org.memferry.update;

/** The rules over heap blocks of {@code float}, as {@link UpdateRule} gives them: the reference that the native kernel is tested with. */
final class FloatRules {

    private FloatRules() {
    }

    /**
     * Updates the first {@code n} elements of parameters p, gradients g and state x, y, z in place; g becomes the update.
     *
     * @return whether all gradients, as they came, and all updated parameters are finite
     */
    static boolean update(UpdatePass pass, float[] p, float[] g, float[] x, float[] y, float[] z, int n) {
        boolean finite = finite(g, n);
        before(pass, p, g, n);
        rule(pass, g, x, y, z, n);
        for (int t = 0; t < pass.termsAfter(); t++) {
            axpy((float) pass.after(t), p, g, n, pass.has(UpdatePass.AXPY_FUSED));
        }
        for (int i = 0; i < n; i++) {
            p[i] -= g[i];
        }
        return finite && finite(p, n);
    }

    /** A finite number less itself is 0, all bits; infinities and NaNs give a NaN. Without a branch, so that the loop is vectorised. */
    private static boolean finite(float[] a, int n) {
        int bits = 0;
        for (int i = 0; i < n; i++) {
            bits |= Float.floatToRawIntBits(a[i] - a[i]);
        }
        return bits == 0;
    }

    private static void before(UpdatePass pass, float[] p, float[] g, int n) {
        if (pass.has(UpdatePass.DIVIDE)) {
            divide((float) pass.divisor(), g, n);
        }
        scale(pass, g, n);
        for (int t = 0; t < pass.termsBefore(); t++) {
            float c = (float) pass.before(t);
            if (pass.isL1(t)) {
                addSigns(c, p, g, n);
            } else {
                axpy(c, p, g, n, pass.has(UpdatePass.AXPY_FUSED));
            }
        }
    }

    private static void divide(float divisor, float[] g, int n) {
        for (int i = 0; i < n; i++) {
            g[i] /= divisor;
        }
    }

    private static void scale(UpdatePass pass, float[] g, int n) {
        float s = (float) pass.scalingValue();
        switch (pass.scaling()) {
            case MULTIPLY:
                for (int i = 0; i < n; i++) {
                    g[i] *= s;
                }
                break;
            case DIVIDE:
                divide(s, g, n);
                break;
            case CLIP:
                for (int i = 0; i < n; i++) {
                    g[i] = g[i] > s ? s : g[i] < -s ? -s : g[i];
                }
                break;
            default:
                break;
        }
    }

    /** ND4J's sign is 0 for a NaN. The sum is taken even then: it turns -0 into 0. */
    private static void addSigns(float c, float[] p, float[] g, int n) {
        for (int i = 0; i < n; i++) {
            float sign = p[i] > 0 ? 1 : p[i] < 0 ? -1 : 0;
            g[i] = c * sign + g[i];
        }
    }

    private static void axpy(float c, float[] p, float[] g, int n, boolean fused) {
        for (int i = 0; i < n; i++) {
            g[i] = muladd(fused, c, p[i], g[i]);
        }
    }

    private static float muladd(boolean fused, float a, float b, float c) {
        return fused ? Math.fma(a, b, c) : a * b + c;
    }

    private static float sqrt(float a) {
        return (float) Math.sqrt(a);
    }

    private static void rule(UpdatePass pass, float[] g, float[] x, float[] y, float[] z, int n) {
        double[] c = pass.numbers();
        boolean fused = pass.has(UpdatePass.RULE_FUSED);
        switch (pass.rule()) {
            case ADAM:
                adam(c, fused, g, x, y, n);
                break;
            case AMSGRAD:
                amsGrad(c, fused, g, x, y, z, n);
                break;
            case ADAMAX:
                adaMax(c, fused, g, x, y, n);
                break;
            case NADAM:
                nadam(c, fused, g, x, y, n);
                break;
            case NESTEROVS:
                nesterovs(c, fused, g, x, n);
                break;
            case RMSPROP:
                rmsProp(c, fused, g, x, n);
                break;
            case ADAGRAD:
                adaGrad(c, fused, g, x, n);
                break;
            case ADADELTA:
                adaDelta(c, fused, g, x, y, n);
                break;
            case ADABELIEF:
                adaBelief(c, fused, g, x, y, n);
                break;
            case SGD:
                sgd((float) c[0], g, n);
                break;
            default:
                break;
        }
    }

    private static void adam(double[] c, boolean fused, float[] g, float[] m, float[] v, int n) {
        float b1 = (float) c[0], n1 = (float) c[1], b2 = (float) c[2], n2 = (float) c[3], alpha = (float) c[4], eps = (float) c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            g[i] = m[i] * alpha / (sqrt(v[i]) + eps);
        }
    }

    private static void amsGrad(double[] c, boolean fused, float[] g, float[] m, float[] v, float[] h, int n) {
        float b1 = (float) c[0], n1 = (float) c[1], b2 = (float) c[2], n2 = (float) c[3], alpha = (float) c[4], eps = (float) c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            h[i] = h[i] > v[i] ? h[i] : v[i];
            g[i] = alpha * m[i] / (sqrt(h[i]) + eps);
        }
    }

    private static void adaBelief(double[] c, boolean fused, float[] g, float[] m, float[] s, int n) {
        float b1 = (float) c[0], n1 = (float) c[1], b2 = (float) c[2], n2 = (float) c[3], alpha = (float) c[4], eps = (float) c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            float d = g[i] - m[i];
            s[i] = muladd(fused, b2, s[i], d * d * n2) + eps;
            g[i] = m[i] * alpha / (sqrt(s[i]) + eps);
        }
    }

    private static void adaMax(double[] c, boolean fused, float[] g, float[] m, float[] v, int n) {
        float b1 = (float) c[0], n1 = (float) c[1], b2 = (float) c[2], alpha = (float) c[4];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            float decayed = b2 * v[i];
            float size = Math.abs(g[i]);
            v[i] = (float) ((double) (decayed > size ? decayed : size) + 1e-32);
            g[i] = m[i] * alpha / v[i];
        }
    }

    private static void nadam(double[] c, boolean fused, float[] g, float[] m, float[] v, int n) {
        float b1 = (float) c[0], n1 = (float) c[1], b2 = (float) c[2], n2 = (float) c[3], lr = (float) c[4], eps = (float) c[5];
        float correction = (float) c[6];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, g[i], n1, m[i] * b1);
            float ahead = muladd(fused, g[i], n1, m[i] * b1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            g[i] = lr * (ahead / correction) / (sqrt(v[i]) + eps);
        }
    }

    private static void nesterovs(double[] c, boolean fused, float[] g, float[] v, int n) {
        float momentum = (float) c[0], back = (float) c[1], lr = (float) c[2];
        for (int i = 0; i < n; i++) {
            float previous = v[i];
            v[i] = muladd(fused, momentum, previous, -(lr * g[i]));
            g[i] = muladd(fused, momentum, previous, back * v[i]);
        }
    }

    private static void rmsProp(double[] c, boolean fused, float[] g, float[] s, int n) {
        float lr = (float) c[0], decay = (float) c[1], rest = (float) c[2], eps = (float) c[3];
        for (int i = 0; i < n; i++) {
            s[i] = muladd(fused, s[i], decay, g[i] * g[i] * rest);
            g[i] = lr * g[i] / (sqrt(s[i]) + eps);
        }
    }

    private static void adaGrad(double[] c, boolean fused, float[] g, float[] h, int n) {
        float lr = (float) c[0], eps = (float) c[1];
        for (int i = 0; i < n; i++) {
            h[i] = muladd(fused, g[i], g[i], h[i]);
            g[i] = lr * g[i] / (sqrt(h[i]) + eps);
        }
    }

    private static void adaDelta(double[] c, boolean fused, float[] g, float[] s, float[] d, int n) {
        float rho = (float) c[0], rest = (float) c[1], eps = (float) c[2];
        for (int i = 0; i < n; i++) {
            s[i] = muladd(fused, rho, s[i], g[i] * g[i] * rest);
            g[i] = g[i] * (sqrt(d[i] + eps) / sqrt(s[i] + eps));
            d[i] = muladd(fused, rho, d[i], g[i] * g[i] * rest);
        }
    }

    private static void sgd(float lr, float[] g, int n) {
        for (int i = 0; i < n; i++) {
            g[i] *= lr;
        }
    }
}

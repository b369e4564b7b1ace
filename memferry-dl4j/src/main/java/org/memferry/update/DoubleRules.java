package org.memferry.update;

/** The rules over heap blocks of {@code double}, as {@link UpdateRule} gives them: the reference that the native kernel is tested with. */
final class DoubleRules {

    private DoubleRules() {
    }

    /**
     * Updates the first {@code n} elements of parameters p, gradients g and state x, y, z in place; g becomes the update.
     *
     * @return whether all gradients, as they came, and all updated parameters are finite
     */
    static boolean update(UpdatePass pass, double[] p, double[] g, double[] x, double[] y, double[] z, int n) {
        boolean finite = finite(g, n);
        before(pass, p, g, n);
        rule(pass, g, x, y, z, n);
        for (int t = 0; t < pass.termsAfter(); t++) {
            axpy(pass.after(t), p, g, n, pass.has(UpdatePass.AXPY_FUSED));
        }
        for (int i = 0; i < n; i++) {
            p[i] -= g[i];
        }
        return finite && finite(p, n);
    }

    /** A finite number less itself is 0, all bits; infinities and NaNs give a NaN. Without a branch, so that the loop is vectorised. */
    private static boolean finite(double[] a, int n) {
        long bits = 0;
        for (int i = 0; i < n; i++) {
            bits |= Double.doubleToRawLongBits(a[i] - a[i]);
        }
        return bits == 0;
    }

    private static void before(UpdatePass pass, double[] p, double[] g, int n) {
        if (pass.has(UpdatePass.DIVIDE)) {
            divide(pass.divisor(), g, n);
        }
        scale(pass, g, n);
        for (int t = 0; t < pass.termsBefore(); t++) {
            double c = pass.before(t);
            if (pass.isL1(t)) {
                addSigns(c, p, g, n);
            } else {
                axpy(c, p, g, n, pass.has(UpdatePass.AXPY_FUSED));
            }
        }
    }

    private static void divide(double divisor, double[] g, int n) {
        for (int i = 0; i < n; i++) {
            g[i] /= divisor;
        }
    }

    private static void scale(UpdatePass pass, double[] g, int n) {
        double s = pass.scalingValue();
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
    private static void addSigns(double c, double[] p, double[] g, int n) {
        for (int i = 0; i < n; i++) {
            double sign = p[i] > 0 ? 1 : p[i] < 0 ? -1 : 0;
            g[i] = c * sign + g[i];
        }
    }

    private static void axpy(double c, double[] p, double[] g, int n, boolean fused) {
        for (int i = 0; i < n; i++) {
            g[i] = muladd(fused, c, p[i], g[i]);
        }
    }

    private static double muladd(boolean fused, double a, double b, double c) {
        return fused ? Math.fma(a, b, c) : a * b + c;
    }

    private static double sqrt(double a) {
        return Math.sqrt(a);
    }

    private static void rule(UpdatePass pass, double[] g, double[] x, double[] y, double[] z, int n) {
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
                sgd(c[0], g, n);
                break;
            default:
                break;
        }
    }

    private static void adam(double[] c, boolean fused, double[] g, double[] m, double[] v, int n) {
        double b1 = c[0], n1 = c[1], b2 = c[2], n2 = c[3], alpha = c[4], eps = c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            g[i] = m[i] * alpha / (sqrt(v[i]) + eps);
        }
    }

    private static void amsGrad(double[] c, boolean fused, double[] g, double[] m, double[] v, double[] h, int n) {
        double b1 = c[0], n1 = c[1], b2 = c[2], n2 = c[3], alpha = c[4], eps = c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            h[i] = h[i] > v[i] ? h[i] : v[i];
            g[i] = alpha * m[i] / (sqrt(h[i]) + eps);
        }
    }

    private static void adaBelief(double[] c, boolean fused, double[] g, double[] m, double[] s, int n) {
        double b1 = c[0], n1 = c[1], b2 = c[2], n2 = c[3], alpha = c[4], eps = c[5];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            double d = g[i] - m[i];
            s[i] = muladd(fused, b2, s[i], d * d * n2) + eps;
            g[i] = m[i] * alpha / (sqrt(s[i]) + eps);
        }
    }

    private static void adaMax(double[] c, boolean fused, double[] g, double[] m, double[] v, int n) {
        double b1 = c[0], n1 = c[1], b2 = c[2], alpha = c[4];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, b1, m[i], g[i] * n1);
            double decayed = b2 * v[i];
            double size = Math.abs(g[i]);
            v[i] = (decayed > size ? decayed : size) + 1e-32;
            g[i] = m[i] * alpha / v[i];
        }
    }

    private static void nadam(double[] c, boolean fused, double[] g, double[] m, double[] v, int n) {
        double b1 = c[0], n1 = c[1], b2 = c[2], n2 = c[3], lr = c[4], eps = c[5];
        double correction = c[6];
        for (int i = 0; i < n; i++) {
            m[i] = muladd(fused, g[i], n1, m[i] * b1);
            double ahead = muladd(fused, g[i], n1, m[i] * b1);
            v[i] = muladd(fused, b2, v[i], g[i] * g[i] * n2);
            g[i] = lr * (ahead / correction) / (sqrt(v[i]) + eps);
        }
    }

    private static void nesterovs(double[] c, boolean fused, double[] g, double[] v, int n) {
        double momentum = c[0], back = c[1], lr = c[2];
        for (int i = 0; i < n; i++) {
            double previous = v[i];
            v[i] = muladd(fused, momentum, previous, -(lr * g[i]));
            g[i] = muladd(fused, momentum, previous, back * v[i]);
        }
    }

    private static void rmsProp(double[] c, boolean fused, double[] g, double[] s, int n) {
        double lr = c[0], decay = c[1], rest = c[2], eps = c[3];
        for (int i = 0; i < n; i++) {
            s[i] = muladd(fused, s[i], decay, g[i] * g[i] * rest);
            g[i] = lr * g[i] / (sqrt(s[i]) + eps);
        }
    }

    private static void adaGrad(double[] c, boolean fused, double[] g, double[] h, int n) {
        double lr = c[0], eps = c[1];
        for (int i = 0; i < n; i++) {
            h[i] = muladd(fused, g[i], g[i], h[i]);
            g[i] = lr * g[i] / (sqrt(h[i]) + eps);
        }
    }

    private static void adaDelta(double[] c, boolean fused, double[] g, double[] s, double[] d, int n) {
        double rho = c[0], rest = c[1], eps = c[2];
        for (int i = 0; i < n; i++) {
            s[i] = muladd(fused, rho, s[i], g[i] * g[i] * rest);
            g[i] = g[i] * (sqrt(d[i] + eps) / sqrt(s[i] + eps));
            d[i] = muladd(fused, rho, d[i], g[i] * g[i] * rest);
        }
    }

    private static void sgd(double lr, double[] g, int n) {
        for (int i = 0; i < n; i++) {
            g[i] *= lr;
        }
    }
}

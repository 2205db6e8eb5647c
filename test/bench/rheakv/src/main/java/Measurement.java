// Driver: measures calls as the bench does with its other systems, and tells every counted call in microseconds.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

final class Measurement {
    interface Call {
        boolean done(int caller, int turn) throws Exception;
    }

    interface PacedCall {
        boolean done(int turn) throws Exception;
    }

    interface LockCall<Lock> {
        boolean done(Lock lock) throws Exception;
    }

    /** What fails at once must not keep the other callers from their turns. */
    private static final long AFTER_AN_ERROR_MILLIS = 10;

    private final List<Integer> micros = new ArrayList<>();
    private final List<Integer> ends = new ArrayList<>();
    private final AtomicInteger calls = new AtomicInteger();
    private int errors;
    private String firstError;

    /** So many callers, each with its next call behind its last; times are in milliseconds. */
    static String closed(Call call, int callers, int warmUp, int counted) throws InterruptedException {
        Measurement measurement = new Measurement();
        long start = System.nanoTime() + warmUp * 1_000_000L;
        long end = start + counted * 1_000_000L;
        inThreads(callers, caller -> {
            for (int turn = 0; System.nanoTime() < end; turn++) {
                int of = turn;
                measurement.one(() -> call.done(caller, of), start, end, true);
            }
        });
        return measurement.told();
    }

    /** One call each so many milliseconds, none of which waits for the call before it. */
    static String paced(PacedCall call, int perSecond, int count) throws InterruptedException {
        Measurement measurement = new Measurement();
        long start = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        for (int turn = 0; turn < count; turn++) {
            int of = turn;
            long wait = (start + turn * 1_000_000_000L / perSecond - System.nanoTime()) / 1_000_000;
            if (wait > 0) Thread.sleep(wait);
            Thread thread =
                new Thread(() -> measurement.one(() -> call.done(of), start, Long.MAX_VALUE, false));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        return measurement.told();
    }

    /** The times between two holds of one contended lock. */
    static final class Gaps {
        private final Measurement measurement = new Measurement();
        private final long start;
        private final long end;
        private long last;

        Gaps(int warmUp, int counted) {
            start = System.nanoTime() + warmUp * 1_000_000L;
            end = start + counted * 1_000_000L;
            last = start;
        }

        boolean over() {
            return System.nanoTime() > end;
        }

        /** Called by whoever holds the lock. */
        synchronized void served() {
            long now = System.nanoTime();
            if (now < start || now > end) return;
            measurement.counted(now - last, now - start);
            last = now;
        }

        <Lock> String measure(int waiters, Supplier<Lock> lockOf, LockCall<Lock> call)
            throws InterruptedException {
            inThreads(waiters, waiter -> {
                Lock lock = lockOf.get();
                while (!over()) measurement.failed(() -> call.done(lock), true);
            });
            return measurement.told();
        }
    }

    private interface Attempt {
        boolean done() throws Exception;
    }

    private interface Thing {
        void run(int number) throws InterruptedException;
    }

    private static void inThreads(int count, Thing thing) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    thing.run(number);
                } catch (InterruptedException ended) {
                    Thread.currentThread().interrupt();
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
    }

    private void one(Attempt attempt, long start, long end, boolean pauses) {
        long began = System.nanoTime();
        boolean failed = failed(attempt, pauses);
        long now = System.nanoTime();
        if (!failed && now >= start && now <= end) counted(now - began, now - start);
    }

    private boolean failed(Attempt attempt, boolean pauses) {
        calls.incrementAndGet();
        String fault = "it was not done";
        try {
            if (attempt.done()) return false;
        } catch (Throwable error) {
            fault = error.toString();
        }
        synchronized (this) {
            errors++;
            if (firstError == null) firstError = fault;
        }
        try {
            if (pauses) Thread.sleep(AFTER_AN_ERROR_MILLIS);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    private synchronized void counted(long nanos, long endNanos) {
        micros.add((int) (nanos / 1_000));
        ends.add((int) (endNanos / 1_000));
    }

    private synchronized String told() {
        String first = firstError == null ? "" : ",\"firstError\":" + quoted(firstError);
        return "{\"calls\":" + calls + ",\"errors\":" + errors + first + ",\"micros\":" + numbers(micros)
            + ",\"ends\":" + numbers(ends) + "}";
    }

    private static String numbers(List<Integer> list) {
        StringBuilder text = new StringBuilder("[");
        for (int number : list) text.append(text.length() > 1 ? "," : "").append(number);
        return text.append(']').toString();
    }

    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') quoted.append('\\').append(one);
            else if (one >= ' ' && one < 127) quoted.append(one);
            else quoted.append(String.format("\\u%04x", (int) one));
        }
        return quoted.append('"').toString();
    }
}

// Driver: the load process of RheaKV. It reads an order a line from its input, carries it out through RheaKV's own
// client, and answers with a line: the order's number and a value as JSON.

import com.alipay.sofa.jraft.rhea.client.DefaultRheaKVStore;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

public final class Load {
    private static final byte[] VALUE = new byte[256];
    /** Keys that puts and gets go over. */
    private static final int KEYS = 1_000;

    private final String servers;
    private final Map<String, DefaultRheaKVStore> clients = new ConcurrentHashMap<>();
    private final Map<String, DistributedLock<byte[]>> locks = new ConcurrentHashMap<>();

    private Load(String servers) {
        this.servers = servers;
    }

    /** Arguments: all servers as "address:port,...". */
    public static void main(String[] args) throws Exception {
        Arrays.fill(VALUE, (byte) 'x');
        Load load = new Load(args[0]);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] order = line.split(" ", -1);
            new Thread(() -> answer(order[0], load, order)).start();
        }
        // Whoever started it is gone.
        System.exit(0);
    }

    private static void answer(String number, Load load, String[] order) {
        String told;
        try {
            told = load.carryOut(order);
        } catch (Throwable error) {
            told = "{\"error\":" + Measurement.quoted(error.toString()) + "}";
        }
        synchronized (System.out) {
            System.out.println(number + " " + told);
        }
    }

    /** An order: its number, what to do, the client's name, then what that needs. */
    private String carryOut(String[] order) throws Exception {
        String client = order[2];
        switch (order[1]) {
            case "open":
                clients.put(client, open());
                return "true";
            case "close":
                clients.remove(client).shutdown();
                return "true";
            case "leader":
                return String.valueOf(
                    clients.get(client).getPlacementDriverClient().getLeader(Server.REGION, true, 1_000).getPort());
            case "take":
                return String.valueOf(lockOf(client, order[3]).tryLock());
            case "release":
                lockOf(client, order[3]).unlock();
                return "true";
            case "put":
                return String.valueOf(
                    clients.get(client).bPut(order[3], Base64.getDecoder().decode(order[4])));
            case "get":
                return textOf(clients.get(client).bGet(order[3]));
            case "closed":
                return closed(client, order[3], whole(order[4]), whole(order[5]), whole(order[6]));
            case "paced":
                return Measurement.paced(
                    turn -> pair(lockOf(client, "everyday/" + turn % 100)), whole(order[3]), whole(order[4]));
            case "passOn":
                return passOn(client, order[3], whole(order[4]), whole(order[5]), whole(order[6]));
            default:
                throw new IllegalArgumentException("no such order: " + order[1]);
        }
    }

    private DefaultRheaKVStore open() {
        DefaultRheaKVStore store = new DefaultRheaKVStore();
        if (!store.init(Server.optionsOf(servers).config()))
            throw new IllegalStateException("the client did not start");
        return store;
    }

    private DistributedLock<byte[]> lockOf(String client, String key) {
        return locks.computeIfAbsent(client + " " + key, name -> newLock(client, key));
    }

    private DistributedLock<byte[]> newLock(String client, String key) {
        return clients.get(client).getDistributedLock(key, 10, TimeUnit.SECONDS);
    }

    private static boolean pair(DistributedLock<byte[]> lock) {
        if (!lock.tryLock()) return false;
        lock.unlock();
        return true;
    }

    /** Each caller is a thread, because RheaKV's lock blocks. */
    private String closed(String client, String load, int callers, int warmUp, int counted) throws Exception {
        DefaultRheaKVStore store = clients.get(client);
        switch (load) {
            case "pair":
                return Measurement.closed(
                    (caller, turn) -> pair(lockOf(client, "lock/" + caller)), callers, warmUp, counted);
            case "put":
                return Measurement.closed(
                    (caller, turn) -> store.bPut(keyOf(caller, turn), VALUE), callers, warmUp, counted);
            case "get":
                return Measurement.closed((caller, turn) -> {
                    byte[] found = store.bGet(keyOf(caller, turn));
                    return found != null && found.length == VALUE.length;
                }, callers, warmUp, counted);
            default:
                throw new IllegalArgumentException("no such load: " + load);
        }
    }

    /**
     * One lock for all, an owner each. RheaKV has no queue. "loop": each calls tryLock again and again; "time": by
     * tryLock with a time, which pauses for longer and longer between its attempts.
     */
    private String passOn(String client, String how, int waiters, int warmUp, int counted) throws Exception {
        Measurement.Gaps gaps = new Measurement.Gaps(warmUp, counted);
        return gaps.measure(waiters, () -> newLock(client, "contended"), lock -> {
            if (how.equals("time")) {
                if (!lock.tryLock(60, TimeUnit.SECONDS)) return false;
            } else {
                while (!lock.tryLock()) if (gaps.over()) return true;
            }
            gaps.served();
            lock.unlock();
            return true;
        });
    }

    private static String keyOf(int caller, int turn) {
        return "key/" + (caller * 31 + turn) % KEYS;
    }

    private static String textOf(byte[] value) {
        return value == null ? "null" : Measurement.quoted(Base64.getEncoder().encodeToString(value));
    }

    private static int whole(String text) {
        return Integer.parseInt(text);
    }
}

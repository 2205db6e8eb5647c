// Driver: one RheaKV server over RocksDB, with RheaKV's defaults. By these the Raft log is synced on a majority
// before an answer; RocksDB below is not synced as well, because it is made again from that log.

import com.alipay.sofa.jraft.rhea.client.DefaultRheaKVStore;
import com.alipay.sofa.jraft.rhea.options.RheaKVStoreOptions;
import com.alipay.sofa.jraft.rhea.options.StoreEngineOptions;
import com.alipay.sofa.jraft.rhea.options.configured.MultiRegionRouteTableOptionsConfigured;
import com.alipay.sofa.jraft.rhea.options.configured.PlacementDriverOptionsConfigured;
import com.alipay.sofa.jraft.rhea.options.configured.RheaKVStoreOptionsConfigured;
import com.alipay.sofa.jraft.rhea.options.configured.RocksDBOptionsConfigured;
import com.alipay.sofa.jraft.rhea.options.configured.StoreEngineOptionsConfigured;
import com.alipay.sofa.jraft.rhea.storage.StorageType;
import com.alipay.sofa.jraft.util.Endpoint;

public final class Server {
    /** RheaKV's number of the only region. */
    static final long REGION = -1;

    /** Arguments: its port, its folder, all servers as "address:port,...". */
    public static void main(String[] args) {
        String folder = args[1];
        StoreEngineOptions engine = StoreEngineOptionsConfigured.newConfigured()
            .withStorageType(StorageType.RocksDB)
            .withRocksDBOptions(RocksDBOptionsConfigured.newConfigured().withDbPath(folder + "/db").config())
            .withRaftDataPath(folder + "/raft")
            .withServerAddress(new Endpoint("127.0.0.1", Integer.parseInt(args[0])))
            .config();
        DefaultRheaKVStore store = new DefaultRheaKVStore();
        if (!store.init(optionsOf(args[2]).withStoreEngineOptions(engine).config()))
            throw new IllegalStateException("the server did not start");
    }

    /** What servers and clients have in common: no placement driver, and a fixed list of servers. */
    static RheaKVStoreOptionsConfigured optionsOf(String servers) {
        return RheaKVStoreOptionsConfigured.newConfigured()
            .withClusterName("bench")
            .withInitialServerList(servers)
            .withPlacementDriverOptions(
                PlacementDriverOptionsConfigured.newConfigured()
                    .withFake(true)
                    .withRegionRouteTableOptionsList(
                        MultiRegionRouteTableOptionsConfigured.newConfigured()
                            .withInitialServerList(REGION, servers)
                            .config())
                    .config());
    }
}

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A Flink job: sums numbers on its TaskManagers once it is told to, and writes down the sum and who took part.
 *
 * <p>FlinkSum GO RESULT: it begins when the file GO is there.
 */
public final class FlinkSum {
    public static void main(String[] args) throws Exception {
        var environment = StreamExecutionEnvironment.getExecutionEnvironment();
        var parts = environment.fromSequence(1, 1000).map(new Tell(args[0]));
        long sum = 0;
        var who = new TreeSet<String>();
        try (var all = parts.executeAndCollect("sum")) {
            while (all.hasNext()) {
                String[] part = all.next().split(" ");
                who.add(part[0]);
                sum += Long.parseLong(part[1]);
            }
        }
        // It is there with all its words.
        var written = Files.writeString(Path.of(args[1] + ".new"), sum + " " + String.join(" ", who));
        Files.move(written, Path.of(args[1]));
    }

    /** Says of a number who has it. */
    static final class Tell extends RichMapFunction<Long, String> {
        private final String go;

        Tell(String go) {
            this.go = go;
        }

        @Override
        public void open(OpenContext context) throws Exception {
            while (!new File(go).exists()) {
                Thread.sleep(100);
            }
        }

        @Override
        public String map(Long number) throws Exception {
            // So long that nobody does all of it alone.
            Thread.sleep(4);
            return System.getenv("HOSTNAME") + " " + number;
        }
    }
}

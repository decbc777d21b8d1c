import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * A simpler acceptance on Kafka Streams: documents and signals decoded and checked, the latest of each kind and name kept,
 * the rule evaluated, an acceptance for each record, a change on a transition, state with a changelog.
 *
 * <p>Left out, beside the product: commit events, the set of all signals (so repetitions, embedded signals, late
 * corrections), `reversed` and `accepted_at`, violations, limits, headers, settlement.
 *
 * <p>Arguments: servers, application id, prefix of the inputs, prefix of the outputs, `eos` or `alo`, `defaults` or
 * `tuned`, threads, state directory.
 */
public final class Acceptance {
  static final byte VERDICT = 0, SCORE = 1, EVENT = 2;
  static final List<String> KINDS = List.of("verdict", "score", "event");
  static final List<String> TIERS = List.of("verified", "reported", "heuristic", "asserted");
  static final Set<String> WORDS = Set.of("accept", "pass", "reject", "fail", "error");
  static final JsonFactory JSON = new JsonFactory();

  /** What cannot be read. */
  static final class Bad extends RuntimeException {
    Bad(String why) {
      super(why, null, false, false);
    }
  }

  /** The latest signal of a kind and name. */
  static final class Signal {
    byte kind = -1, tier = -1;
    String id, name, value;
    double number = Double.NaN;
    long at = Long.MIN_VALUE;
  }

  /** A run as it is kept. */
  static final class Run {
    int version;
    String status = "unknown";
    boolean ruled;
    long closes = Long.MAX_VALUE;
    List<String> requires = List.of(), excludes = List.of();
    final List<Signal> latest = new ArrayList<>(6);
    List<String> reasons = new ArrayList<>(3), used = new ArrayList<>(3);
    byte tier = -1;

    void fold(Signal signal) {
      for (int i = 0; i < latest.size(); i++) {
        Signal old = latest.get(i);
        if (old.kind == signal.kind && old.name.equals(signal.name)) {
          if (signal.at >= old.at) latest.set(i, signal);
          return;
        }
      }
      latest.add(signal);
    }

    Signal find(byte kind, String name) {
      for (Signal signal : latest) if (signal.kind == kind && signal.name.equals(name)) return signal;
      return null;
    }

    void use(Signal signal) {
      used.add(signal.id);
      if (signal.tier > tier) tier = signal.tier;
    }

    void evaluate() {
      reasons = new ArrayList<>(3);
      used = new ArrayList<>(3);
      tier = -1;
      boolean rejected = false, unknown = !ruled || requires.isEmpty();
      for (String name : requires) {
        Signal signal = find(VERDICT, name);
        if (signal == null || signal.value.equals("error")) {
          unknown = true;
          reasons.add((signal == null ? "missing:" : "error:") + name);
        } else {
          use(signal);
          if (signal.value.equals("reject") || signal.value.equals("fail")) {
            rejected = true;
            reasons.add("failed:" + name);
          }
        }
      }
      for (String name : excludes) {
        Signal signal = find(EVENT, name);
        if (signal != null && signal.at <= closes) {
          rejected = true;
          reasons.add("late:" + name);
          use(signal);
        }
      }
      if (!ruled && !rejected) reasons.add("no_rule");
      status = rejected ? "rejected" : unknown ? "unknown" : "accepted";
    }
  }

  // --- JSON ---------------------------------------------------------------------------------------

  static long instant(String text) {
    OffsetDateTime at = OffsetDateTime.parse(text);
    return at.toEpochSecond() * 1_000_000_000L + at.getNano();
  }

  static String text(JsonParser parser, JsonToken token, int most) throws IOException {
    if (token != JsonToken.VALUE_STRING) throw new Bad("a string is needed");
    String text = parser.getText();
    if (text.isEmpty() || text.length() > most) throw new Bad("a string's length");
    return text;
  }

  static Signal signal(byte[] value) {
    try (JsonParser parser = JSON.createParser(value)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) throw new Bad("no object");
      Signal signal = new Signal();
      boolean valued = false;
      String name;
      while ((name = parser.nextFieldName()) != null) {
        JsonToken token = parser.nextToken();
        switch (name) {
          case "id" -> signal.id = text(parser, token, 200);
          case "name" -> signal.name = text(parser, token, 200);
          case "kind" -> signal.kind = (byte) KINDS.indexOf(text(parser, token, 20));
          case "tier" -> signal.tier = (byte) TIERS.indexOf(text(parser, token, 20));
          case "observed_at" -> signal.at = instant(text(parser, token, 64));
          case "value" -> {
            valued = true;
            if (token == JsonToken.VALUE_STRING) signal.value = parser.getText();
            else if (token.isNumeric()) signal.number = parser.getDoubleValue();
            else if (token != JsonToken.VALUE_NULL) throw new Bad("a value's type");
          }
          case "source" -> source(parser, token);
          default -> parser.skipChildren();
        }
      }
      if (parser.nextToken() != null) throw new Bad("more than one value");
      if (signal.id == null || signal.name == null || signal.at == Long.MIN_VALUE || !valued) throw new Bad("missing");
      if (signal.kind < 0 || signal.tier < 0) throw new Bad("no such word");
      boolean fits =
          switch (signal.kind) {
            case VERDICT -> signal.value != null && WORDS.contains(signal.value);
            case EVENT -> signal.value != null;
            default -> signal.value == null;
          };
      if (!fits) throw new Bad("value against kind");
      return signal;
    } catch (IOException | DateTimeException error) {
      throw new Bad(error.toString());
    }
  }

  static void source(JsonParser parser, JsonToken token) throws IOException {
    if (token == JsonToken.VALUE_NULL) return;
    if (token != JsonToken.START_OBJECT) throw new Bad("source");
    boolean kind = false;
    String name;
    while ((name = parser.nextFieldName()) != null) {
      JsonToken inner = parser.nextToken();
      if (name.equals("kind")) {
        text(parser, inner, 200);
        kind = true;
      } else parser.skipChildren();
    }
    if (!kind) throw new Bad("source.kind");
  }

  /** The newest document: its rule and its end. */
  static void document(byte[] value, Run run) {
    boolean versioned = false, found = false;
    try (JsonParser parser = JSON.createParser(value)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) throw new Bad("no object");
      String name;
      while ((name = parser.nextFieldName()) != null) {
        JsonToken token = parser.nextToken();
        if (name.equals("ocp")) versioned = text(parser, token, 10).equals("0.3");
        else if (name.equals("run") && token == JsonToken.START_OBJECT) {
          runOf(parser, run);
          found = true;
        } else parser.skipChildren();
      }
    } catch (IOException | DateTimeException error) {
      throw new Bad(error.toString());
    }
    if (!versioned || !found) throw new Bad("no OCP 0.3 document");
  }

  static void runOf(JsonParser parser, Run run) throws IOException {
    long ended = Long.MIN_VALUE;
    double days = 14;
    run.ruled = false;
    run.requires = List.of();
    run.excludes = List.of("revert", "incident");
    String name;
    while ((name = parser.nextFieldName()) != null) {
      JsonToken token = parser.nextToken();
      switch (name) {
        case "ended_at" -> ended = token == JsonToken.VALUE_NULL ? ended : instant(text(parser, token, 64));
        case "acceptance_rule" -> {
          if (token == JsonToken.START_OBJECT) {
            run.ruled = true;
            String member;
            while ((member = parser.nextFieldName()) != null) {
              JsonToken inner = parser.nextToken();
              switch (member) {
                case "requires" -> run.requires = names(parser, inner);
                case "excludes_events" -> run.excludes = names(parser, inner);
                case "window_days" -> days = parser.getDoubleValue();
                default -> parser.skipChildren();
              }
            }
          }
        }
        default -> parser.skipChildren();
      }
    }
    run.closes = ended == Long.MIN_VALUE ? Long.MAX_VALUE : ended + (long) (days * 86_400e9);
  }

  static List<String> names(JsonParser parser, JsonToken token) throws IOException {
    if (token != JsonToken.START_ARRAY) throw new Bad("a list is needed");
    List<String> names = new ArrayList<>(3);
    while ((token = parser.nextToken()) != JsonToken.END_ARRAY) names.add(text(parser, token, 200));
    return names;
  }

  static byte[] acceptance(String id, Run run, String from) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    try (JsonGenerator json = JSON.createGenerator(bytes, JsonEncoding.UTF8)) {
      json.writeStartObject();
      json.writeStringField("run_id", id);
      json.writeNumberField("version", run.version);
      json.writeStringField("status", run.status);
      if (from != null) json.writeStringField("from", from);
      list(json, "reasons", run.reasons);
      json.writeStringField("tier", run.tier < 0 ? null : TIERS.get(run.tier));
      list(json, "used", run.used);
      json.writeEndObject();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  static void list(JsonGenerator json, String name, List<String> values) throws IOException {
    json.writeArrayFieldStart(name);
    for (String value : values) json.writeString(value);
    json.writeEndArray();
  }

  // --- the state ----------------------------------------------------------------------------------

  static byte[] encode(Run run) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    DataOutputStream out = new DataOutputStream(bytes);
    try {
      out.writeInt(run.version);
      out.writeUTF(run.status);
      out.writeBoolean(run.ruled);
      out.writeLong(run.closes);
      write(out, run.requires);
      write(out, run.excludes);
      out.writeShort(run.latest.size());
      for (Signal signal : run.latest) {
        out.writeByte(signal.kind);
        out.writeByte(signal.tier);
        out.writeLong(signal.at);
        out.writeUTF(signal.id);
        out.writeUTF(signal.name);
        out.writeUTF(signal.value == null ? "" : signal.value);
        out.writeDouble(signal.number);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  static void write(DataOutputStream out, List<String> names) throws IOException {
    out.writeShort(names.size());
    for (String name : names) out.writeUTF(name);
  }

  static Run decode(byte[] bytes) {
    Run run = new Run();
    if (bytes == null) return run;
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    try {
      run.version = in.readInt();
      run.status = in.readUTF();
      run.ruled = in.readBoolean();
      run.closes = in.readLong();
      run.requires = read(in);
      run.excludes = read(in);
      for (int left = in.readShort(); left > 0; left--) {
        Signal signal = new Signal();
        signal.kind = in.readByte();
        signal.tier = in.readByte();
        signal.at = in.readLong();
        signal.id = in.readUTF();
        signal.name = in.readUTF();
        signal.value = in.readUTF();
        signal.number = in.readDouble();
        run.latest.add(signal);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return run;
  }

  static List<String> read(DataInputStream in) throws IOException {
    int count = in.readShort();
    List<String> names = new ArrayList<>(count);
    for (int i = 0; i < count; i++) names.add(in.readUTF());
    return names;
  }

  // --- the topology -------------------------------------------------------------------------------

  static final class Fold implements Processor<String, byte[], String, byte[]> {
    private ProcessorContext<String, byte[]> context;
    private KeyValueStore<String, byte[]> store;

    @Override
    public void init(ProcessorContext<String, byte[]> given) {
      context = given;
      store = given.getStateStore("runs");
    }

    @Override
    public void process(Record<String, byte[]> record) {
      Run run;
      try {
        if (context.recordMetadata().orElseThrow().topic().endsWith("signals")) {
          Signal signal = signal(record.value());
          run = decode(store.get(record.key()));
          run.fold(signal);
        } else {
          run = decode(store.get(record.key()));
          document(record.value(), run);
        }
      } catch (Bad bad) {
        context.forward(record, "dead-letters");
        return;
      }
      String before = run.status;
      run.evaluate();
      run.version++;
      store.put(record.key(), encode(run));
      context.forward(record.withValue(acceptance(record.key(), run, null)), "acceptance");
      if (!run.status.equals(before)) {
        context.forward(record.withValue(acceptance(record.key(), run, before)), "changed");
      }
    }
  }

  public static void main(String[] args) {
    boolean eos = args[4].equals("eos"), tuned = args[5].equals("tuned");
    Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    config.put(StreamsConfig.STATE_DIR_CONFIG, args[7]);
    config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, Integer.parseInt(args[6]));
    config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    config.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    if (eos) config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    if (!eos) config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1_000);
    if (tuned) {
      config.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 10_000);
      config.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 10_000);
      config.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG), 4_194_304);
      config.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 524_288);
      config.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 134_217_728);
    }
    var supplier = tuned ? Stores.inMemoryKeyValueStore("runs") : Stores.persistentKeyValueStore("runs");
    StoreBuilder<KeyValueStore<String, byte[]>> runs =
        Stores.keyValueStoreBuilder(supplier, Serdes.String(), Serdes.ByteArray());
    Topology topology = new Topology();
    topology.addSource("inputs", args[2] + "runs", args[2] + "signals");
    topology.addProcessor("fold", Fold::new, "inputs");
    topology.addStateStore(tuned ? runs.withCachingDisabled() : runs.withCachingEnabled(), "fold");
    topology.addSink("acceptance", args[3] + "acceptance", "fold");
    topology.addSink("changed", args[3] + "acceptance-changed", "fold");
    topology.addSink("dead-letters", args[3] + "acceptance-dead-letters", "fold");
    KafkaStreams streams = new KafkaStreams(topology, config);
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }
}

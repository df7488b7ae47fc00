import { PacketReader, type TransportPacket } from './packet-reader.js';
import { type PesPacket, PesReader } from './pes-reader.js';
import { type ElementaryStream, readAssociation, readProgramMap, SectionReader } from './sections.js';
import { type ChosenStreams, chooseStreams, type StreamCodec } from './stream-types.js';

export interface DemuxerEvents {
  /** The streams of the program are known, or have changed. */
  streams(streams: ChosenStreams): void;
  /** `isAfterLoss`: data of this stream is missing before, or it was added to a program. */
  packet(codec: StreamCodec, packet: PesPacket, isAfterLoss: boolean): void;
}

interface OpenStream {
  readonly codec: StreamCodec;
  readonly pes: PesReader;
  isAfterLoss: boolean;
}

const ASSOCIATION_PID = 0;
const COUNTER_BITS = 0xf;
/** More packets of a stream than its counter can tell. */
const UNCERTAIN_PACKETS = 16;

/** Takes one program of an MPEG-2 transport stream apart: a stream of video and one of audio. */
export class Demuxer {
  readonly #events: DemuxerEvents;
  readonly #packets = new PacketReader();
  readonly #association = new SectionReader();
  #map = new SectionReader();
  #mapPid: number | undefined;
  #mapSection: Buffer | undefined;
  #streams = new Map<number, OpenStream>();
  /** Last continuity counters. */
  readonly #counters = new Map<number, number>();

  constructor(events: DemuxerEvents) {
    this.#events = events;
  }

  /** How many bytes have arrived that no packet was in. */
  get skippedBytes(): number {
    return this.#packets.skippedBytes;
  }

  get hasProgram(): boolean {
    return this.#mapSection !== undefined;
  }

  push(bytes: Uint8Array): void {
    for (const packet of this.#packets.push(bytes)) this.#read(packet);
  }

  /** About so many packets are missing before the next bytes. */
  lose(packets: number): void {
    this.#packets.lose();
    if (packets < UNCERTAIN_PACKETS) return;
    this.#counters.clear();
    for (const stream of this.#streams.values()) loseData(stream);
  }

  /** The stream has ended. */
  flush(): void {
    for (const stream of this.#streams.values()) this.#emit(stream, stream.pes.flush());
  }

  #read(packet: TransportPacket): void {
    const { pid, payload, startsUnit } = packet;
    const stream = this.#streams.get(pid);
    if (!stream && pid !== ASSOCIATION_PID && pid !== this.#mapPid) return;
    const { isRepeated, isAfterLoss } = this.#count(packet);
    if (isAfterLoss || packet.isUnusable) this.#loseOn(pid);
    if (isRepeated || packet.isUnusable || !payload) return;
    if (stream) this.#emit(stream, stream.pes.push(payload, startsUnit));
    else if (pid === ASSOCIATION_PID)
      for (const section of this.#association.push(payload, startsUnit)) this.#associate(section);
    else for (const section of this.#map.push(payload, startsUnit)) this.#setMap(section);
  }

  /** A packet may be sent twice. Those without payload are not counted. */
  #count({ pid, payload, continuity, isDiscontinuous }: TransportPacket): {
    isRepeated: boolean;
    isAfterLoss: boolean;
  } {
    const last = this.#counters.get(pid);
    if (!payload) return { isRepeated: false, isAfterLoss: false };
    this.#counters.set(pid, continuity);
    if (last === undefined || isDiscontinuous) return { isRepeated: false, isAfterLoss: false };
    if (continuity === last) return { isRepeated: true, isAfterLoss: false };
    return { isRepeated: false, isAfterLoss: continuity !== ((last + 1) & COUNTER_BITS) };
  }

  #loseOn(pid: number): void {
    const stream = this.#streams.get(pid);
    if (stream) loseData(stream);
    else if (pid === ASSOCIATION_PID) this.#association.lose();
    else this.#map.lose();
  }

  #emit(stream: OpenStream, packets: readonly PesPacket[]): void {
    for (const packet of packets) {
      const { isAfterLoss } = stream;
      stream.isAfterLoss = false;
      this.#events.packet(stream.codec, packet, isAfterLoss);
    }
  }

  #associate(section: Buffer): void {
    const pid = readAssociation(section);
    if (pid === undefined || pid === this.#mapPid) return;
    this.#mapPid = pid;
    this.#map = new SectionReader();
    this.#mapSection = undefined;
  }

  #setMap(section: Buffer): void {
    if (this.#mapSection?.equals(section)) return;
    const streams = readProgramMap(section);
    // Some encoders announce their streams one by one.
    if (!streams || streams.length === 0) return;
    this.#mapSection = Buffer.from(section);
    this.#open(streams);
  }

  /** Streams that stay go on. A new one may begin within a GOP, unless it is one of the first. */
  #open(streams: readonly ElementaryStream[]): void {
    const chosen = chooseStreams(streams);
    const before = this.#streams;
    this.#streams = new Map();
    for (const { pid, codec } of [chosen.video, chosen.audio].flatMap((stream) => stream ?? [])) {
      const same = before.get(pid);
      const isSame = same?.codec === codec;
      this.#streams.set(pid, isSame ? same : { codec, pes: new PesReader(), isAfterLoss: before.size > 0 });
      if (!isSame) this.#counters.delete(pid);
    }
    this.#events.streams(chosen);
  }
}

const loseData = (stream: OpenStream): void => {
  stream.pes.lose();
  stream.isAfterLoss = true;
};

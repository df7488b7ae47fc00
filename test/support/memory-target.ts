import type { IngestPacket, IngestTarget, Publication, PublishRequest, Refusal } from '#kinora/live/ingest.js';

/** What one encoder has sent. */
export interface Received {
  readonly request: PublishRequest;
  readonly packets: IngestPacket[];
  /** Why it ended; undefined while it is publishing. */
  endReason: string | undefined;
}

/** Of all its streams, for protocols that have one. */
export const PASSPHRASE = 'memory-target-passphrase';

/**
 * Takes one publisher at a time for each of its stream keys, and keeps all that it sends.
 */
export class MemoryTarget implements IngestTarget {
  readonly publications: Received[] = [];

  constructor(
    private readonly keys: readonly string[],
    /** Delays the decision. */
    private readonly before: () => Promise<void> = async () => {},
  ) {}

  async publish(request: PublishRequest): Promise<Publication | Refusal> {
    await this.before();
    const { streamKey } = request;
    if (!this.keys.includes(streamKey)) return { reason: 'unknown_key', message: 'No stream has this key.' };
    if (request.hasPassphrase?.(PASSPHRASE) === false)
      return { reason: 'wrong_passphrase', message: 'The passphrase is wrong.' };
    const isInUse = this.publications.some(
      (other) => other.request.streamKey === streamKey && other.endReason === undefined,
    );
    if (isInUse) return { reason: 'in_use', message: 'Another encoder is sending this stream.' };
    const received: Received = { request, packets: [], endReason: undefined };
    this.publications.push(received);
    return {
      liveStreamId: 'live',
      write: (packet) => void received.packets.push(packet),
      end: (reason) => {
        if (received.endReason !== undefined) throw new Error('ended twice');
        received.endReason = reason;
      },
    };
  }
}

/** The packets of one kind. */
export const packetsOf = <K extends IngestPacket['kind']>(
  { packets }: Pick<Received, 'packets'>,
  kind: K,
): Extract<IngestPacket, { kind: K }>[] =>
  packets.filter((packet): packet is Extract<IngestPacket, { kind: K }> => packet.kind === kind);

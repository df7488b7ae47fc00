import type { IngestPacket } from '../ingest.js';

/** Audio without video is not held for longer. */
const AUDIO_ALONE_MS = 2000;
/** The same while a configuration of video says that frames will come. */
const MAX_HELD_MS = 10_000;

/**
 * What an encoder has sent since it came back, while the slate is still played: the slate ends with
 * the first frame that can be decoded.
 */
export class HeldPackets {
  readonly #configs = new Map<IngestPacket['kind'], IngestPacket>();
  #audio: (IngestPacket & { kind: 'audio' })[] = [];

  /** Returns the packets to record when there is something to show, and undefined before. */
  add(packet: IngestPacket): IngestPacket[] | undefined {
    if (packet.kind === 'video') return packet.isKey ? this.#take(packet) : undefined;
    if (packet.kind !== 'audio') {
      this.#configs.set(packet.kind, packet);
      return undefined;
    }
    this.#audio.push(packet);
    const heldMs = packet.dtsMs - this.#audio[0]!.dtsMs;
    // A jump of the clock: what is older does not belong to it.
    if (heldMs < 0) this.#audio = [packet];
    const limitMs = this.#configs.has('video-config') ? MAX_HELD_MS : AUDIO_ALONE_MS;
    return heldMs >= limitMs ? this.#take() : undefined;
  }

  #take(...last: IngestPacket[]): IngestPacket[] {
    return [...this.#configs.values(), ...this.#audio, ...last];
  }
}

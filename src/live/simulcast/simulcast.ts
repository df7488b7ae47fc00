import type { LiveStates, SimulcastTarget } from '../../domain/live/live-states.js';
import type { Clock } from '../../lib/clock.js';
import type { ConnectionOpener } from '../../net/open-connection.js';
import type { Logger } from '../../telemetry/logger.js';
import type { IngestPacket } from '../ingest.js';
import { simulcastProblem } from '../owner-messages.js';
import { defaultMetadata, FlvBodies } from '../rtmp/flv-bodies.js';
import { type Message, SendQueue } from './send-queue.js';
import { TargetSender, type TargetSenderDeps } from './target-sender.js';

export interface SimulcastDeps extends Pick<TargetSenderDeps, 'pauseMs' | 'stallMs' | 'confirmMs'> {
  readonly opener: ConnectionOpener;
  readonly clock: Clock;
  /** Of the live stream. */
  readonly logger: Logger;
  /** The encoder's metadata would announce video that targets don't get. */
  readonly audioOnly: boolean;
  /** Saves changes in their order. */
  readonly save: (change: (states: LiveStates, liveStreamId: string) => Promise<unknown>) => void;
}

/**
 * Sends what the encoder of a broadcast sends to all simulcast targets of the live stream. One for
 * a broadcast: a target that has failed for good gets nothing more of it.
 */
export class Simulcast {
  readonly #deps: SimulcastDeps;
  readonly #senders = new Map<string, TargetSender>();
  /** Those that get what the connected encoder sends. */
  #active: readonly TargetSender[] = [];
  /** What it has sent before the targets were read. Undefined before and afterwards. */
  #early: SendQueue | undefined;
  #bodies = new FlvBodies();
  #hasVideo = false;
  #hasAudio = false;
  #ending: Promise<void> | undefined;

  constructor(deps: SimulcastDeps) {
    this.#deps = deps;
  }

  /** An encoder is connected; that change must have been saved. */
  begin(): void {
    const early = new SendQueue();
    this.#early = early;
    this.#bodies = new FlvBodies();
    this.#hasVideo = false;
    this.#hasAudio = false;
    this.#deps.save(async (states, liveStreamId) => {
      const targets = await states.simulcastTargets(liveStreamId);
      // The encoder may have gone meanwhile.
      if (this.#early !== early) return;
      this.#early = undefined;
      this.#active = targets.map((target) => this.#senderOf(target));
      for (const sender of this.#active) sender.begin(early.copy());
    });
  }

  /** Takes the next packet, and the body of its FLV tag if there is one. Never waits. */
  write(packet: IngestPacket, flvBody?: Uint8Array): void {
    if (!this.#early && this.#active.length === 0) return;
    if (packet.kind === 'metadata' && this.#deps.audioOnly) return;
    if (packet.kind === 'video-config') this.#hasVideo = true;
    if (packet.kind === 'audio-config') this.#hasAudio = true;
    const isConfig = packet.kind === 'video-config' || packet.kind === 'audio-config';
    if (isConfig && !flvBody)
      this.#push({ kind: 'metadata' }, defaultMetadata({ hasVideo: this.#hasVideo, hasAudio: this.#hasAudio }));
    this.#push(packet, flvBody ?? this.#bodies.of(packet));
  }

  /** The encoder has gone. Resolves when all connections are closed, within seconds. */
  end(): Promise<void> {
    this.#early = undefined;
    const ended = this.#active.map((sender) => sender.end());
    this.#active = [];
    this.#ending = Promise.all([this.#ending, ...ended]).then(() => undefined);
    return this.#ending;
  }

  #senderOf(target: SimulcastTarget): TargetSender {
    const existing = this.#senders.get(target.id);
    if (existing) return existing;
    const { save } = this.#deps;
    const sender = new TargetSender(
      {
        ...this.#deps,
        onStatus: (status, severity) => save((states, id) => states.simulcast(id, target.id, status, severity)),
        onFatal: (code) => {
          const warning = { type: 'simulcast_target', message: simulcastProblem(target.id, code) };
          save((states, id) => states.warnStream(id, warning));
        },
      },
      target,
    );
    this.#senders.set(target.id, sender);
    return sender;
  }

  #push(
    packet: { readonly kind: IngestPacket['kind']; readonly dtsMs?: number; readonly isKey?: boolean },
    body: Uint8Array,
  ): void {
    const message: Message = {
      kind: packet.kind,
      isKey: packet.isKey ?? false,
      // Modulo 2^32.
      timestamp: Math.round(packet.dtsMs ?? 0) >>> 0,
      body,
      atMs: this.#deps.clock.monotonicMs(),
    };
    this.#early?.push(message);
    for (const sender of this.#active) sender.write(message);
  }
}

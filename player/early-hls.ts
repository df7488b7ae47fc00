import Hls, { Events, type HlsConfig, type HlsListeners } from 'hls.js';
import workerUrl from 'hls.js/dist/hls.worker.js?url';
import { licenseConfig } from './key-systems.js';
import { showMessage, UNPLAYABLE } from './message.js';
import { page } from './page-data.js';

type EventName = keyof HlsListeners;
type Listener = (event: EventName, data: unknown) => void;

/** What the controls are made from: tracks, levels, and which of them plays. In the order in which they are told. */
const TOLD_AGAIN = [
  Events.NON_NATIVE_TEXT_TRACKS_FOUND,
  Events.LEVEL_LOADED,
  Events.LEVEL_SWITCHED,
  Events.AUDIO_TRACK_SWITCHED,
] as const;

/**
 * hls.js that starts before the controls are loaded, so that the first frame does not wait for them. The controls take it
 * over while it plays: they hear the latest of the events that they have missed.
 */
export class EarlyHls extends Hls {
  readonly #latest = new Map<EventName, unknown>();
  #newListeners: [EventName, Listener][] | undefined;
  #isRepaired = false;
  #isTakenOver = false;

  constructor(config: Partial<HlsConfig>) {
    super({ workerPath: workerUrl, renderTextTracksNatively: false, ...licenseConfig(page), ...config });
    for (const event of TOLD_AGAIN)
      super.on(event, (name: EventName, data: unknown) => void this.#latest.set(name, data));
  }

  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  /** A stand-in for the constructor of hls.js: `new` returns this instance. */
  asConstructor(): typeof Hls {
    // An arrow function can't be called with `new`.
    const take = function (this: unknown, instance: EarlyHls): EarlyHls {
      instance.#isTakenOver = true;
      instance.#newListeners = [];
      return instance;
    }.bind(undefined, this);
    return Object.assign(take, { Events, isSupported: () => true, prototype: Hls.prototype }) as unknown as typeof Hls;
  }

  override on<E extends EventName, Context = undefined>(event: E, listener: HlsListeners[E], context?: Context): void {
    super.on(event, listener, context as Context);
    // The constructor of hls.js calls this before there are private fields.
    if (#newListeners in this) this.#newListeners?.push([event, listener as unknown as Listener]);
  }

  override attachMedia(media: HTMLMediaElement): void {
    if (this.media !== media) {
      super.attachMedia(media);
      return;
    }
    queueMicrotask(() => {
      const listeners = this.#newListeners ?? [];
      this.#newListeners = undefined;
      for (const event of TOLD_AGAIN) {
        if (!this.#latest.has(event)) continue;
        for (const [name, listener] of listeners) if (name === event) listener(event, this.#latest.get(event));
      }
    });
  }

  override loadSource(url: string): void {
    if (this.url !== new URL(url, location.href).href) super.loadSource(url);
  }

  /** Only once: a decoder that fails again does not get better. */
  override recoverMediaError(): void {
    if (this.#isRepaired) showMessage(UNPLAYABLE);
    else super.recoverMediaError();
    this.#isRepaired = true;
  }
}

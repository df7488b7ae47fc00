/** What the server writes into the page. Empty strings stand for what the video does not have. */
export interface PageData {
  /** The URL of the playlist, with its token. */
  readonly source: string;
  /** The HTTP status of the playlist, or `errored` when it will never play. */
  readonly status: string;
  /** Why the status is 403 or 412, as the playlist says it. */
  readonly reason: string;
  /**
   * `live`: a live stream, of which the last half minute can be played; `dvr`: a recording that is
   * on air; `ended`: a live stream that ended a moment ago.
   */
  readonly live: string;
  readonly title: string;
  /** The URL of the image to show before playback. */
  readonly poster: string;
  /** The URL of the WebVTT file with previews for the time slider. */
  readonly storyboard: string;
  /** The URL of the chapters. */
  readonly chapters: string;
  /** Key systems with a license URL, separated by spaces. */
  readonly keySystems: string;
  readonly licenseToken: string;
  /** The ID of the environment, which reports of views name; empty if none are wanted. */
  readonly environment: string;
  /** Empty if nothing can be played. */
  readonly playbackId: string;
  /** The host that receives reports, if it is another one. */
  readonly dataHost: string;
}

/** An element of the page by its `id`; `player.html` has them all. */
export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

export const root = element('player');
export const page = root.dataset as unknown as PageData;

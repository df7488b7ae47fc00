/** How long the candidates of this computer may take; those that are missing are rarely needed. */
const GATHERING_MS = 2000;

const gathered = (peer: RTCPeerConnection): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, GATHERING_MS);
    peer.addEventListener('icegatheringstatechange', () => {
      if (peer.iceGatheringState === 'complete') resolve();
    });
  });

/** Sends a camera or the screen to a live stream by WebRTC (WHIP). */
export class WhipPublisher {
  readonly #peer = new RTCPeerConnection();
  readonly #media: MediaStream;
  #url: string | undefined;

  /** @param onEnd the connection is lost, or the browser's own button has ended the sharing */
  constructor(media: MediaStream, onEnd: () => void) {
    this.#media = media;
    for (const track of media.getTracks()) {
      // The encoder keeps the size: each other one begins another segment of the recording.
      if (track.kind === 'video') track.contentHint = 'detail';
      track.addEventListener('ended', onEnd);
      this.#peer.addTransceiver(track, { direction: 'sendonly', streams: [media] });
    }
    this.#peer.addEventListener('connectionstatechange', () => {
      if (this.#peer.connectionState === 'failed' || this.#peer.connectionState === 'closed') onEnd();
    });
  }

  /** @throws Error with what the server says */
  async start(streamKey: string): Promise<void> {
    const peer = this.#peer;
    await peer.setLocalDescription();
    await gathered(peer);
    const response = await fetch('/whip', {
      method: 'POST',
      headers: { 'content-type': 'application/sdp', authorization: `Bearer ${streamKey}` },
      body: peer.localDescription!.sdp,
    });
    if (response.status !== 201) {
      const body = (await response.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined;
      throw new Error(body?.error?.messages?.join(' ') ?? `The server has refused the broadcast (${response.status}).`);
    }
    this.#url = response.headers.get('location') ?? undefined;
    await peer.setRemoteDescription({ type: 'answer', sdp: await response.text() });
  }

  /** Also switches the camera off. */
  stop(): void {
    for (const track of this.#media.getTracks()) track.stop();
    this.#peer.close();
    if (this.#url !== undefined) void fetch(this.#url, { method: 'DELETE', keepalive: true }).catch(() => undefined);
  }
}

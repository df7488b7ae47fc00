import { KinoraError } from '../../lib/errors.js';
import { newKeyBytes, newUuid } from '../../lib/ids.js';
import { uuidBytes } from '../../media/mp4/pssh.js';
import type { ServiceCaller } from '../../net/call-service.js';
import { type DeliveredKey, readCpixAnswer, writeCpixRequest } from './cpix-document.js';
import { type KeySource, keyTracks } from './key-source.js';
import type { DrmSettings } from './settings.js';

const IV_BYTES = 16;

const refused = (reason: string): KinoraError => new KinoraError('upstream_refused', { details: { reason } });

/** Key source `cpix`: a key service that speaks SPEKE 2.0 gives the keys and what players are told of them. */
export const cpixKeys = (services: ServiceCaller, { cpix, allowPrivate }: DrmSettings): KeySource => ({
  async getKeys(assetId) {
    const requested = keyTracks.map((track) => ({ track, kid: newUuid() }));
    const answer = await services.call({
      method: 'POST',
      url: cpix!.url,
      headers: {
        accept: 'application/xml',
        ...cpix!.headers,
        'content-type': 'application/xml',
        'x-speke-version': '2.0',
      },
      body: writeCpixRequest(assetId, requested),
      allowPrivate,
    });
    if (answer.status !== 200) throw refused(`status ${answer.status}`);
    let delivered: Map<string, DeliveredKey>;
    try {
      const kids = requested.map(({ kid }) => kid);
      delivered = readCpixAnswer(Buffer.from(answer.body).toString('utf8'), kids);
    } catch (error) {
      // Its message, not the error itself, which could repeat parts of the answer.
      throw refused(error instanceof Error ? error.message.slice(0, 200) : 'the answer cannot be read');
    }
    return requested.map(({ track, kid }) => {
      const { key, iv = newKeyBytes(IV_BYTES), systems } = delivered.get(kid)!;
      return { track, kid: uuidBytes(kid), key, iv, systems };
    });
  },
});

import { createHash } from 'node:crypto';
import { KinoraError } from '../../lib/errors.js';
import { newKeyBytes } from '../../lib/ids.js';
import { uuidBytes } from '../../media/mp4/pssh.js';
import type { ServiceCaller } from '../../net/call-service.js';
import { type DeliveredKey, readCpixResponse, writeCpixRequest } from './cpix-document.js';
import { type KeySource, keyTracks } from './key-source.js';
import type { DrmSettings } from './settings.js';

const IV_BYTES = 16;

const rejection = (reason: string): KinoraError => new KinoraError('upstream_refused', { details: { reason } });

/**
 * A deterministic UUID of version 8: when a response is lost, or two servers ask at the same time,
 * the key service is asked for the same keys and creates no others.
 */
const keyIdOf = (...of: readonly string[]): string => {
  const digits = createHash('sha256').update(JSON.stringify(of)).digest('hex');
  const variant = '89ab'[Number.parseInt(digits[16]!, 16) % 4];
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
};

/**
 * Key source `cpix`: a key service that supports SPEKE 2.0 provides the keys and the signals for
 * players.
 */
export const cpixKeys = (
  services: ServiceCaller,
  { cpix, allowPrivate }: DrmSettings,
  configurationId: string,
): KeySource => ({
  async getKeys(assetId) {
    const requested = keyTracks.map((track) => ({ track, kid: keyIdOf(configurationId, assetId, track) }));
    const response = await services.call({
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
    if (response.status !== 200) throw rejection(`status ${response.status}`);
    let delivered: Map<string, DeliveredKey>;
    try {
      delivered = readCpixResponse(Buffer.from(response.body).toString('utf8'), assetId, requested);
    } catch (error) {
      // Only the message, because the error itself could repeat parts of the response.
      throw rejection(error instanceof Error ? error.message.slice(0, 200) : 'the answer cannot be read');
    }
    return requested.map(({ track, kid }) => {
      const { key, iv = newKeyBytes(IV_BYTES), systems } = delivered.get(kid)!;
      return { track, kid: uuidBytes(kid), key, iv, systems };
    });
  },
});

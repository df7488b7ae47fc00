import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.js';

export const SIGNATURE_HEADER = 'x-kinora-signature';
/** A recorded request is refused after this time; the clocks of the servers may differ by as much. */
const VALID_SECONDS = 60;

/** Signs requests that servers of one installation send to each other. */
export interface InternalSignature {
  /** The header of a request with this path and body. */
  sign(path: string, body: string): string;
  /** `late` when the clocks differ by too much, or the request is an old one. */
  judge(path: string, body: string, header: unknown): 'valid' | 'late' | 'wrong';
}

export const createInternalSignature = (installationSecret: string, clock: Clock): InternalSignature => {
  const key = createHmac('sha256', installationSecret).update('requests between servers').digest();
  const nowSeconds = () => Math.floor(clock.now().getTime() / 1000);
  const mac = (seconds: number, path: string, body: string) =>
    createHmac('sha256', key).update(`${seconds} ${path}\n`).update(body).digest('hex');
  return {
    sign: (path, body) => {
      const seconds = nowSeconds();
      return `${seconds}.${mac(seconds, path, body)}`;
    },
    judge: (path, body, header) => {
      const [, digits, sent] = /^(\d{1,12})\.([0-9a-f]{64})$/.exec(String(header)) ?? [];
      if (digits === undefined) return 'wrong';
      if (!timingSafeEqual(Buffer.from(mac(Number(digits), path, body)), Buffer.from(sent!))) return 'wrong';
      return Math.abs(nowSeconds() - Number(digits)) > VALID_SECONDS ? 'late' : 'valid';
    },
  };
};

import { createHmac } from 'node:crypto';

/**
 * The value of the header `mux-signature`: HMAC-SHA256 over `<t>.<body>` with the signing secret as
 * text. `unixSeconds` is the time of this attempt, because receivers refuse old ones.
 */
export const signWebhook = (secret: string, unixSeconds: number, body: string): string =>
  `t=${unixSeconds},v1=${createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex')}`;

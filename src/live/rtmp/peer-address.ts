/** The address of a socket's peer; one of IPv4 in its usual form. */
export const peerAddress = (remoteAddress = ''): string => remoteAddress.replace(/^::ffff:(?=\d+\.)/i, '');

/** What limits per address count: one subscriber has all addresses of an IPv6 network with /64. */
export const addressGroup = (address: string): string => {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.replace(/%.*/, '').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':');
};

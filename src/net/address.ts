import { BlockList, isIP } from 'node:net';

type Network = readonly [address: string, prefix: number];

/**
 * Never allowed as a source: the null network, multicast groups, cloud metadata services, and forms
 * that contain another address.
 */
const forbidden: readonly Network[] = [
  ['0.0.0.0', 8],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  // Most clouds. Amazon's name and time servers and Google's cluster proxy are in this network too.
  ['169.254.169.0', 24],
  // Amazon's container credentials.
  ['169.254.170.0', 24],
  // Tencent Cloud.
  ['169.254.0.23', 32],
  // Scaleway.
  ['169.254.42.42', 32],
  // Alibaba Cloud.
  ['100.100.100.200', 32],
  // Azure's wire server, although its address is public.
  ['168.63.129.16', 32],
  ['::', 128],
  // Amazon.
  ['fd00:ec2::', 32],
  // Google Cloud.
  ['fd20:ce::254', 128],
  // Oracle Cloud.
  ['fd00:c1::a9fe:a9fe', 128],
  // Scaleway.
  ['fd00:42::42', 128],
  // Akamai (Linode).
  ['fd00:a9fe:a9fe::1', 128],
  // OpenStack.
  ['fe80::a9fe:a9fe', 128],
  ['ff00::', 8],
];

/** Internal addresses, which the configuration can allow. */
const internal: readonly Network[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
];

/**
 * Everything outside global unicast 2000::/3 (including IPv4-compatible ::/96 and NAT64
 * 64:ff9b::/96), and networks inside it that embed another address (Teredo in 2001::/23, 6to4
 * 2002::/16) or are reserved for documentation.
 */
const notGlobal: readonly Network[] = [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const blockList = (networks: readonly Network[]): BlockList => {
  const list = new BlockList();
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return list;
};

const parseNetwork = (text: string): Network => {
  const [address = '', prefix] = text.split('/');
  return [address, prefix === undefined ? (isIP(address) === 6 ? 128 : 32) : Number(prefix)];
};

/**
 * Whether connections to an address are allowed. Public unicast addresses are allowed;
 * `allowPrivate` adds internal ones (`true`) or the given CIDR networks. Metadata services,
 * multicast and similar addresses are always refused.
 */
export const createAddressPolicy = (allowPrivate: boolean | readonly string[]): ((address: string) => boolean) => {
  const never = blockList(forbidden);
  const inside = blockList(internal);
  const special = blockList(notGlobal);
  const allowed =
    allowPrivate === true ? inside : blockList(allowPrivate === false ? [] : allowPrivate.map(parseNetwork));
  return (address) => {
    // BlockList checks an IPv4-mapped address against the IPv4 networks; a public one is refused
    // because it is not global.
    const target = address.replace(/%.*$/, '');
    const version = isIP(target);
    if (version === 0) return false;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (never.check(target, family)) return false;
    if (allowed.check(target, family)) return true;
    return !inside.check(target, family) && !(version === 6 && special.check(target, family));
  };
};

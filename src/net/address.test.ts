import { describe, expect, it } from 'vitest';
import { createAddressPolicy } from './address.js';

const internal = [
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.1.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '::1',
  'fc00::1',
  'fdff::1',
  'fe80::1',
  'fe80::1%eth0',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::FFFF:10.0.0.1',
  '0:0:0:0:0:ffff:7f00:1',
];
const never = [
  '0.0.0.0',
  '0.1.2.3',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '169.254.169.123',
  '169.254.169.252',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'fd00:a9fe:a9fe::1',
  'fe80::a9fe:a9fe',
  'fe80::a9fe:a9fe%eth0',
  '::',
  'ff02::1',
];
const notGlobal = [
  '::127.0.0.1',
  '::7f00:1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  'fec0::1',
  '4000::1',
  '::ffff:8.8.8.8',
];
const global = ['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1'];

describe('createAddressPolicy', () => {
  it.each([...internal, ...never, ...notGlobal])('refuses %s by default', (address) => {
    expect(createAddressPolicy(false)(address)).toBe(false);
  });
  it.each(global)('allows %s', (address) => {
    expect(createAddressPolicy(false)(address)).toBe(true);
    expect(createAddressPolicy([])(address)).toBe(true);
  });
  it.each(internal)('allows %s where internal addresses are allowed', (address) => {
    expect(createAddressPolicy(true)(address)).toBe(true);
  });
  it.each([...never, ...notGlobal])('refuses %s even then', (address) => {
    expect(createAddressPolicy(true)(address)).toBe(false);
  });
  it.each(never)('refuses %s whatever the networks allowed', (address) => {
    expect(createAddressPolicy(['0.0.0.0/0', '::/0'])(address)).toBe(false);
  });
  it('allows the given networks only', () => {
    const isAllowed = createAddressPolicy(['10.1.0.0/16', 'fd12::/16', '127.0.0.1', '64:ff9b::/96']);
    expect(['10.1.2.3', 'fd12::1', '127.0.0.1', '::ffff:10.1.2.3', '64:ff9b::808:808'].map(isAllowed)).toEqual(
      Array(5).fill(true),
    );
    expect(['10.2.0.1', 'fd13::1', '127.0.0.2', '192.168.0.1'].map(isAllowed)).toEqual(Array(4).fill(false));
  });
  it.each(['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.2.3'])(
    'refuses %j, which is no address',
    (text) => {
      expect(createAddressPolicy(true)(text)).toBe(false);
    },
  );
});

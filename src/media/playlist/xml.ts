/**
 * The few parts of XML 1.0 that manifests need. Elements are strings; each child is on its own
 * line.
 */

export type XmlAttributes = Readonly<Record<string, string | number | undefined>>;

/**
 * XML can't contain control characters, halves of surrogate pairs and two noncharacters, not even
 * escaped.
 */
const UNWRITABLE = /[\p{Cc}\p{Cs}\u2028\u2029\ufffe\uffff]+/gu;

const escapeXml = (text: string): string =>
  text.replace(UNWRITABLE, ' ').replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const openTag = (name: string, attributes: XmlAttributes): string => {
  const present = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return `<${[name, ...present.map(([key, value]) => `${key}="${escapeXml(String(value))}"`)].join(' ')}`;
};

/** An element with child elements. Undefined children are omitted. */
export const element = (name: string, attributes: XmlAttributes, ...children: (string | undefined)[]): string => {
  const present = children.filter((child) => child !== undefined);
  const tag = openTag(name, attributes);
  return present.length === 0 ? `${tag}/>` : `${tag}>\n${present.join('\n')}\n</${name}>`;
};

export const textElement = (name: string, attributes: XmlAttributes, text: string): string =>
  `${openTag(name, attributes)}>${escapeXml(text)}</${name}>`;

export const xmlDocument = (root: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;

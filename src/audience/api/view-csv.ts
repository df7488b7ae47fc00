import type { StoredView } from '../tables/video-view.js';
import { serializeView } from './serialize-view.js';
import { viewFields } from './view-fields.js';

const columns = [...Object.keys(viewFields), 'events'];

/**
 * Spreadsheets run a cell that begins like this as a formula, and pages and viewers choose the text
 * of cells. An apostrophe before it makes it text.
 */
const FORMULA = /^[=+\-@\t\r\n]/;

const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return quote(typeof value === 'object' ? JSON.stringify(value) : String(value));
  return quote(FORMULA.test(value) && !Number.isFinite(Number(value)) ? `'${value}` : value);
};

/** As RFC 4180 says. */
const quote = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const csvHeader = `${columns.join(',')}\r\n`;

/** A line with the fields of a view; lists and events are JSON. */
export const csvLine = (view: StoredView): string => {
  const fields = serializeView(view);
  return `${columns.map((name) => cellOf(fields[name])).join(',')}\r\n`;
};

import { expect } from 'vitest';

/** The whole of an error answer: status, type and every message in order. */
export const expectError = async (
  response: Response,
  status: number,
  type: string,
  messages: readonly string[],
): Promise<void> => {
  const { status: found, body } = { status: response.status, body: await response.json() };
  expect({ status: found, body }).toEqual({ status, body: { error: { type, messages } } });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
};

export const NOT_FOUND = "The requested resource either doesn't exist or you don't have access to it.";

/** In the form of any of the APIs. */
export const expectNotFound = async (response: Response): Promise<void> => {
  const { error } = (await response.json()) as { error: { type: string; messages?: string[]; message?: string } };
  expect([response.status, error.type]).toEqual([404, 'not_found']);
  // A part of a path that is no ID, such as the name of a workflow, makes it the path of no
  // operation.
  if (error.messages?.[0]?.startsWith('There is no operation ')) expect(error.messages).toHaveLength(1);
  else if (error.messages) expect(error.messages).toEqual([NOT_FOUND]);
  else expect(error.message).toMatch(/^(Asset|Directive|Job|Run) not found$/);
};

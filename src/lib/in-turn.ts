/**
 * Runs asynchronous functions one after another, in the order of the calls. A failure reaches only
 * its own caller.
 */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export const createInTurn = (): InTurn => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};

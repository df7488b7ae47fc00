/**
 * Runs asynchronous functions one after another, in the order of the calls. A failure reaches only
 * its own caller.
 */
export type InTurn = <T>(task: () => Promise<T>) => Promise<T>;

export const createInTurn = (): InTurn => {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => undefined);
    return result;
  };
};

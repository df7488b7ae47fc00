import { useMutation } from '@tanstack/react-query';
import { queryClient } from '../api/query-client';
import { notify, notifyError } from './toast';

interface ActionOptions<T> {
  /** What is said when it is done. */
  readonly done?: string | ((result: T) => string);
  /** Keys of the queries that are loaded again. */
  readonly refresh?: readonly (readonly unknown[])[];
  readonly onDone?: (result: T) => void;
  /** Failures are shown elsewhere, such as in the form. */
  readonly isSilent?: boolean;
}

/** A change on the server that a person asks for: says when it is done or why it failed, and loads again what it changed. */
export const useAction = <Input, T>(change: (input: Input) => Promise<T>, options: ActionOptions<T> = {}) =>
  useMutation<T, Error, Input>({
    mutationFn: change,
    onSuccess: (result) => {
      const { done, onDone } = options;
      if (done !== undefined) notify(typeof done === 'function' ? done(result) : done);
      onDone?.(result);
    },
    onError: (error) => {
      if (!options.isSilent) notifyError(error);
    },
    onSettled: () =>
      Promise.all(
        (options.refresh ?? []).map((queryKey) => queryClient.invalidateQueries({ queryKey: [...queryKey] })),
      ),
  });

import { type ReactNode, Suspense, useSyncExternalStore } from 'react';
import { lazy } from '../lib/lazy';
import type { Question } from './question-dialog';
import { createStore } from './store';

interface Asked extends Question {
  readonly response: (isConfirmed: boolean) => void;
}

const asked = createStore<Asked | undefined>(undefined);

/** Asks before something that can't be undone or may not be meant. */
export const confirm = (question: Question): Promise<boolean> =>
  new Promise((resolve) => {
    asked.get()?.response(false);
    asked.set({
      ...question,
      response: (isConfirmed) => {
        asked.set(undefined);
        resolve(isConfirmed);
      },
    });
  });

const QuestionDialog = lazy(() => import('./question-dialog'));

/** Displays the question of `confirm`: once, in the app. */
export const ConfirmDialog = (): ReactNode => {
  const question = useSyncExternalStore(asked.subscribe, asked.get);
  if (!question) return null;
  return (
    <Suspense>
      <QuestionDialog question={question} onResponse={question.response} />
    </Suspense>
  );
};

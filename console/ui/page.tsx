import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { CircleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { ApiError, sentenceOf } from '../api/client';
import { Button } from './button';

interface PageProps {
  readonly title: string;
  /** What the window is called; the title, when it is absent. */
  readonly windowTitle?: string;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** A line above the title, such as the way back. */
  readonly above?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of every screen: its title, which screen readers begin with, and its actions. */
export const Page = ({ title, windowTitle = title, actions, above, children }: PageProps): ReactNode => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${windowTitle} · Kinora`;
  }, [windowTitle]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      {above}
      <div className="page-head">
        <h1 ref={heading} tabIndex={-1} className="long-title" title={title}>
          {title}
        </h1>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
};

/** A part of a screen with a heading of its own. */
export const Section = ({ title, actions, children }: Pick<PageProps, 'title' | 'actions' | 'children'>): ReactNode => (
  <section className="section" aria-label={title}>
    <div className="section-head">
      <h2>{title}</h2>
      {actions !== undefined && <div className="page-actions">{actions}</div>}
    </div>
    {children}
  </section>
);

/** What went wrong, in the place of what it prevented. */
export const ErrorNotice = ({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: () => void;
}): ReactNode => (
  <div className="notice notice-error" role="alert">
    <CircleAlert aria-hidden />
    <p>{sentenceOf(error)}</p>
    {onRetry && !(error instanceof ApiError && error.status === 404) && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

interface LoadedProps<T> {
  // biome-ignore lint/suspicious/noExplicitAny: the keys of queries differ.
  readonly query: UseQueryOptions<T, Error, T, any>;
  readonly children: (data: T) => ReactNode;
}

/**
 * What a query answers; until then a line that says so, and its failure with a button that repeats
 * it.
 */
export const Loaded = <T,>({ query, children }: LoadedProps<T>): ReactNode => {
  const { data, error, refetch } = useQuery(query);
  if (data !== undefined) return children(data);
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  return <Loading />;
};

export const Loading = (): ReactNode => (
  <p className="loading" role="status">
    Loading …
  </p>
);

import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface PartLinksProps {
  /** What has the parts, for screen readers. */
  readonly label: string;
  /** The address of the first part; the others are below it. */
  readonly base: string;
  /** The first one has an empty path. */
  readonly parts: readonly { readonly path: string; readonly title: string }[];
  /** The path of the part that is displayed. */
  readonly shown: string;
}

/** The parts of a screen, each with an address of its own. */
export const PartLinks = ({ label, base, parts, shown }: PartLinksProps): ReactNode => (
  <nav className="parts" aria-label={label}>
    {parts.map(({ path, title }) => (
      <Link key={path} href={`${base}${path && `/${path}`}`} aria-current={path === shown ? 'page' : undefined}>
        {title}
      </Link>
    ))}
  </nav>
);

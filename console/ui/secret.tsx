import type { ReactNode } from 'react';
import { Button } from './button';
import { CodeBlock } from './copy';

interface NewSecretProps {
  readonly secret: string;
  /** What it is called, such as `access token`. */
  readonly what: string;
  readonly onClose: () => void;
  /** What it is for. */
  readonly children?: ReactNode;
}

/** A secret that the server shows only once, with a button that copies it. */
export const NewSecret = ({ secret, what, onClose, children }: NewSecretProps): ReactNode => (
  <div className="form">
    <p>
      Copy the {what} now: it is displayed only once. {children}
    </p>
    <CodeBlock text={secret} what={what} />
    <div className="dialog-actions">
      <Button look="primary" onClick={onClose}>
        Done
      </Button>
    </div>
  </div>
);

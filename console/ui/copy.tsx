import { Check, Copy } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Button, IconButton } from './button';
import { notifyError } from './toast';

interface CopyButtonProps {
  /** What is copied. */
  readonly text: string;
  /** What it is called: "Copy" and this is the name of the button. */
  readonly what: string;
  readonly withText?: boolean;
}

/** Pages without HTTPS have no clipboard, but a selection can be copied. */
const copyText = async (text: string): Promise<void> => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error("The browser doesn't allow copying here. Select the text and copy it yourself.");
};

export const CopyButton = ({ text, what, withText = false }: CopyButtonProps): ReactNode => {
  const [copied, setCopied] = useState<string>();
  useEffect(() => {
    if (copied === undefined) return;
    const timer = setTimeout(() => setCopied(undefined), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const isCopied = copied === text;
  const copy = (): void => {
    copyText(text).then(() => setCopied(text), notifyError);
  };
  const icon = isCopied ? <Check aria-hidden /> : <Copy aria-hidden />;
  const label = `Copy ${what}`;
  return (
    <>
      {withText ? (
        <Button onClick={copy}>
          {icon} {isCopied ? 'Copied' : label}
        </Button>
      ) : (
        <IconButton label={label} icon={icon} onClick={copy} />
      )}
      <span role="status" className="hidden-text">
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  );
};

/** A block of code, such as a command, with a button that copies it. */
interface CodeBlockProps {
  readonly text: string;
  /** What it is, for screen readers and the button: "Copy" and this. */
  readonly what: string;
  /** What it is, above the block. */
  readonly title?: string;
  /** What is displayed in place of the text that is copied. */
  readonly shown?: string | undefined;
}

export const CodeBlock = ({ title, ...box }: CodeBlockProps): ReactNode => (
  <div className="field">
    {title !== undefined && <p className="field-label">{title}</p>}
    <CodeBox {...box} />
  </div>
);

const CodeBox = ({ text, what, shown }: CodeBlockProps): ReactNode => (
  <div className="code-block">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard. */}
    <section tabIndex={0} aria-label={what}>
      <pre>
        <code>{shown ?? text}</code>
      </pre>
    </section>
    <CopyButton text={text} what={what} />
  </div>
);

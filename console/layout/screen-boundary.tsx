import { Component, type ReactNode } from 'react';
import { Button } from '../ui/button';

interface Props {
  /** Of the screen; another one is tried. */
  readonly path: string;
  readonly children: ReactNode;
}

/**
 * A screen that fails, or whose file can't be loaded, leaves the navigation and the other screens
 * usable.
 */
export class ScreenBoundary extends Component<Props, { readonly isFailed: boolean }> {
  override state = { isFailed: false };

  static getDerivedStateFromError(): { readonly isFailed: boolean } {
    return { isFailed: true };
  }

  override componentDidUpdate({ path }: Props): void {
    if (this.state.isFailed && path !== this.props.path) this.setState({ isFailed: false });
  }

  override render(): ReactNode {
    if (!this.state.isFailed) return this.props.children;
    return (
      <div className="notice notice-error" role="alert">
        <p>This screen could not be displayed. Kinora may have been updated: reload the page.</p>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  }
}

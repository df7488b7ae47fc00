import { useCallback, useEffect, useRef } from 'react';

/** The space beside the player's time slider, as properties of a style. */
const apply = (element: HTMLElement | null, video: HTMLVideoElement | undefined): void => {
  const slider = video?.ownerDocument.getElementById('seek');
  const width = video?.ownerDocument.documentElement.clientWidth;
  if (!element || !slider || width === undefined) return;
  const { left, right } = slider.getBoundingClientRect();
  if (right <= left) return;
  element.style.marginLeft = `${left}px`;
  element.style.marginRight = `${width - right}px`;
};

/** A reference to an element that begins and ends where the player's time slider does. */
export const useSliderInset = (video: HTMLVideoElement | undefined): ((element: HTMLElement | null) => void) => {
  const current = useRef<HTMLElement>(null);
  useEffect(() => {
    const slider = video?.ownerDocument.getElementById('seek');
    if (!slider) return;
    const observer = new ResizeObserver(() => apply(current.current, video));
    observer.observe(slider);
    return () => observer.disconnect();
  }, [video]);
  return useCallback(
    (element) => {
      current.current = element;
      apply(element, video);
    },
    [video],
  );
};

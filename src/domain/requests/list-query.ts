/** The position of an item in a list ordered by creation, newest first. */
export interface CursorPosition {
  readonly createdAt: Date;
  readonly seq: number;
}

/** A page of a list with cursors. */
export interface ListQuery {
  readonly limit: number;
  /** Items to skip; 0 when there is a cursor. */
  readonly offset: number;
  readonly after?: CursorPosition | undefined;
}

/** A page of a list without cursors. */
export interface PageQuery {
  /** The first page is 1. */
  readonly page: number;
  readonly limit: number;
  /** Number of items on earlier pages. */
  readonly offset: number;
}

/** Moves to another part of the page. The URL fragment belongs to the route, so an ordinary link cannot do this. */

const TABLES = 'tables-heading';

/** For a link that changes the tables: scrolls to them. The new content takes the focus itself. */
export function showTables(): void {
  document.getElementById(TABLES)?.scrollIntoView();
}

/** Scrolls to the tables and focuses them. */
export function goToTables(): void {
  document.getElementById(TABLES)?.focus();
  showTables();
}

/** Leads to another part of the page. The address behind `#` is the route's, so that no link can do it alone. */

const TABLES = 'tables-heading';

/** For a link that changes what the tables show: brings them into view, where the new content takes the focus itself. */
export function showTables(): void {
  document.getElementById(TABLES)?.scrollIntoView();
}

/** Brings the tables into view, and the focus to them. */
export function goToTables(): void {
  document.getElementById(TABLES)?.focus();
  showTables();
}

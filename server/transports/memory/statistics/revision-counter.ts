/** Counts the changes that an overview of the transport shows. */
export class RevisionCounter {
  value = 0;

  increment(): void {
    this.value += 1;
  }
}

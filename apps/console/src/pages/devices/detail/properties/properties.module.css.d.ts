declare const styles: {
  readonly actions: string
  readonly buttons: string
  readonly by: string
  readonly editor: string
  readonly field: string
  readonly group: string
  readonly help: string
  readonly key: string
  readonly opened: string
  readonly past: string
  readonly row: string
  readonly section: string
  readonly time: string
  readonly value: string
}
export default styles

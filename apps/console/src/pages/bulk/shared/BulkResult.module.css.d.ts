declare const styles: {
  readonly actions: string
  readonly changes: string
  readonly connected: string
  readonly done: string
  readonly good: string
  readonly id: string
  readonly idCell: string
  readonly more: string
  readonly name: string
  readonly next: string
  readonly reason: string
  readonly refused: string
  readonly result: string
  readonly sign: string
  readonly status: string
  readonly table: string
}
export default styles

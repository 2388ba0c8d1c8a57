declare const styles: {
  readonly changes: string
  readonly framed: string
  readonly head: string
  readonly more: string
  readonly preview: string
  readonly reasons: string
  readonly sample: string
  readonly tally: string
  readonly way: string
}
export default styles

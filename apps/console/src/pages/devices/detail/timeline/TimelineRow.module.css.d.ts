declare const styles: {
  readonly icon: string
  readonly line: string
  readonly open: string
  readonly row: string
  readonly source: string
  readonly summary: string
  readonly text: string
  readonly time: string
}
export default styles

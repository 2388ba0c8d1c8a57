declare const styles: {
  readonly glyph: string
  readonly group: string
  readonly lane: string
}
export default styles

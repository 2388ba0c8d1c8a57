declare const styles: {
  readonly group: string
  readonly row: string
}
export default styles

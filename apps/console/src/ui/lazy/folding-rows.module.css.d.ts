declare const styles: {
  readonly line: string
  readonly rows: string
}
export default styles

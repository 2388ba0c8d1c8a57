declare const styles: {
  readonly row: string
  readonly sign: string
}
export default styles

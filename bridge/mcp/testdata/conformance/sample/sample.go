// Package sample makes the picture and the sound that tools hand over, so that no file has to be carried.
package sample

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

// The content types of what is made here.
const (
	PNG = "image/png"
	WAV = "audio/wav"
)

// The form of the sound: mono, 8 bits a sample, as many samples a second as a telephone.
const (
	rate    = 8000
	samples = 80 // a hundredth of a second
	silence = 128
)

// Picture is one red pixel as PNG.
func Picture() ([]byte, error) {
	pixel := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.NRGBA{R: 0xff, A: 0xff})
	var out bytes.Buffer
	err := png.Encode(&out, pixel)
	return out.Bytes(), err
}

// Sound is a hundredth of a second of silence as WAV.
func Sound() []byte {
	const form = 16 // bytes that describe the samples
	out := []byte("RIFF")
	out = binary.LittleEndian.AppendUint32(out, 4+8+form+8+samples)
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, form)
	out = binary.LittleEndian.AppendUint16(out, 1) // plain samples
	out = binary.LittleEndian.AppendUint16(out, 1) // one channel
	out = binary.LittleEndian.AppendUint32(out, rate)
	out = binary.LittleEndian.AppendUint32(out, rate) // bytes a second
	out = binary.LittleEndian.AppendUint16(out, 1)    // bytes a sample
	out = binary.LittleEndian.AppendUint16(out, 8)    // bits a sample
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, samples)
	return append(out, bytes.Repeat([]byte{silence}, samples)...)
}

package sample_test

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"image/png"
	"testing"

	"example.com/every/sample"
)

func TestThePictureIsARedPixel(t *testing.T) {
	data, err := sample.Picture()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := color.NRGBA{R: 0xff, A: 0xff}
	if got := color.NRGBAModel.Convert(picture.At(0, 0)); picture.Bounds().Dx() != 1 || picture.Bounds().Dy() != 1 || got != want {
		t.Errorf("it is %v of %v", got, picture.Bounds())
	}
}

func TestTheSoundSaysHowLongItIs(t *testing.T) {
	data := sample.Sound()
	whole := binary.LittleEndian.Uint32(data[4:8])
	samples := binary.LittleEndian.Uint32(data[40:44])
	if int(whole) != len(data)-8 || int(samples) != len(data)-44 {
		t.Errorf("%d bytes say that they are %d, of which %d are samples", len(data), whole, samples)
	}
}

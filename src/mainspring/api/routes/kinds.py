"""Kinds of endpoints."""

from fastapi import APIRouter

from mainspring.api.access import Reading
from mainspring.views.kind import KindView, load_kinds
from mainspring.views.view import ListOf

router = APIRouter(prefix="/kinds", tags=["endpoints"])


@router.get("")
async def list_kinds(desk: Reading) -> ListOf[KindView]:
    """Every kind of endpoint with its fields, and what its results show to conditions and rules."""
    return ListOf(items=load_kinds())
